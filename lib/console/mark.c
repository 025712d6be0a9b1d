/* Lines that say why a machine does not start: mark.def. Called for each line of a console, so it
 * looks at each once. */
#include <assert.h>
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

bool phx_console_mark_news(struct phx_console_marked_of *of, const struct phx_console_mark *m,
			   int64_t now_ms)
{
	static_assert(PHX_ARRAY_SIZE(marks) <= 32, "a bit each");
	const uint32_t bit = UINT32_C(1) << (m - marks);
	if (!of->told || now_ms - of->since_ms >= PHX_CONSOLE_MARK_AGAIN_MS)
		*of = (struct phx_console_marked_of){.since_ms = now_ms};
	const bool news = !(of->told & bit);
	of->told |= bit;
	return news;
}
