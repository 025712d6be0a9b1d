/* Lines that say why a machine does not start: mark.def. Called for each line of a console, so it
 * looks at each once. */
#include <string.h>

#include "console/console.h"

static const struct phx_console_mark marks[] = {
#define MARK(word, meaning) {word, meaning},
#include "console/mark.def"
#undef MARK
};

const struct phx_console_mark *phx_console_mark_of(const char *line)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(marks); i++)
		if (strstr(line, marks[i].word))
			return &marks[i];
	return NULL;
}
