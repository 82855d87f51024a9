#!/bin/bash
set -euo pipefail
exit 77
