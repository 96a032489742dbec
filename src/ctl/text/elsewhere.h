/* SPDX-License-Identifier: ISC */
/* elsewhere.h - verbs of other tools, and what to write instead. */
#ifndef CTL_ELSEWHERE_H
#define CTL_ELSEWHERE_H

const char *verb_elsewhere(const char *name);

#endif
