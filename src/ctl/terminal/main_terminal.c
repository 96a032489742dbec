/* SPDX-License-Identifier: ISC */
/* main_terminal.c - supctl-terminal: supctl with a page and with lines that are edited.
 */
#include "config.h"

#include <stddef.h>

#include "ctl/page/page.h"
#include "ctl/page/terminal.h"
#include "ctl/verb/prompt.h"
#include "ctl/verb/verb.h"

static const struct terminal terminal = {
#ifdef HAVE_NCURSES
    .run_page = page_run,
#endif
#ifdef HAVE_EDITLINE
    .begin_lines = edit_begin,
    .read_line = edit_line,
    .end_lines = edit_end,
#endif
};

int
main(int argc, char **argv)
{
	return supctl_run(argc, argv, &terminal);
}
