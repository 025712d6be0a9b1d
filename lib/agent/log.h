/* Short lines on stderr (journald or the console catches them), and the
 * agent's clock. */
#ifndef PHX_AGENT_LOG_H
#define PHX_AGENT_LOG_H

#include <stdint.h>

/** One line, newline added; safe from any thread. Never given a secret. */
void agent_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Monotonic milliseconds. */
int64_t agent_now_ms(void);

/** Sleep; not shortened by signals. */
void agent_sleep_ms(uint32_t ms);

#endif
