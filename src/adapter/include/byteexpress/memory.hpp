// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that the network reads and writes where it lies: everything of it.
#pragma once

#include <byteexpress/allocator.hpp>
#include <byteexpress/buffer.hpp>
#include <byteexpress/chain.hpp>
#include <byteexpress/chain_writer.hpp>
