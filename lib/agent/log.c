/* See log.h. Called from every part of the agent. */
#include "agent/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void agent_log(const char *fmt, ...)
{
	char line[1024] = "phx-agent: ";
	const int head = 11, room = (int)sizeof(line) - head - 1;
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line + head, (size_t)room, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	n = head + (n < room ? n : room - 1);
	line[n++] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)n);
}
