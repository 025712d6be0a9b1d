/* Short lines on stderr (journald or the console catches them). */
#ifndef PHX_AGENT_LOG_H
#define PHX_AGENT_LOG_H

#include <stdint.h>

/** One line, newline added; safe from any thread. Never given a secret. */
void agent_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
