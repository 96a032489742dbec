/* SPDX-License-Identifier: ISC */
/* pure.h - included last in every file of core/: what a decision may not touch. */
#ifndef CORE_PURE_H
#define CORE_PURE_H

#pragma GCC poison malloc calloc realloc free printf fprintf snprintf errno
#pragma GCC poison clock_gettime gettimeofday time rand random srand getrandom
#pragma GCC poison fork vfork kill read write open close getpid float double

#endif
