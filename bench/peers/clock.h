// The time, which the patched sources take from libuv. bare.cpp defines it.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C"
#endif
uint64_t uv_hrtime(void);
