/* Short lines on stderr, which go to journald or the console. */
#ifndef PHX_AGENT_LOG_H
#define PHX_AGENT_LOG_H

#include <stdint.h>

/** Write one line, newline added; callable from any thread. Callers never pass a secret. */
void agent_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
