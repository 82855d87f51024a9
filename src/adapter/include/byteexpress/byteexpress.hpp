// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * ByteExpress for services: everything of the C++ interface.
 */
#pragma once

#include <byteexpress/body.hpp>
#include <byteexpress/channel.hpp>
#include <byteexpress/ps.hpp>
#include <byteexpress/runtime.hpp>
#include <byteexpress/server.hpp>
#include <byteexpress/status.hpp>
#include <byteexpress/stream.hpp>
#include <byteexpress/task.hpp>
