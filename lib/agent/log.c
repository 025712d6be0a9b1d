/* See log.h. Called from every thread of the agent. */
#include "agent/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
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

int64_t agent_now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void agent_sleep_ms(uint32_t ms)
{
	struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};
	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}
