/* SPDX-License-Identifier: ISC */
/* cppcheck.h - what cppcheck has to know of system headers, which it does not read. */
#define TAILQ_FOREACH(var, head, field) \
	for ((var) = (head)->tqh_first; (var) != 0; (var) = (var)->field.tqe_next)
