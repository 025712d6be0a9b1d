/* Decimal numbers as workflows write them, without floating point: what is written is what is
 * read. Used by the readers of workflows. */
#ifndef PHX_TRACE_DECIMAL_H
#define PHX_TRACE_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

/** "13.41" seconds to milliseconds; digits beyond are cut off. -EINVAL: no such number, or more
 * than PHX_FLOW_TIME_MAX_MS; ret untouched then. */
int phx_decimal_ms(const char *text, size_t n, int64_t *ret);
/** A number as JSON has it ("1.25e-3" too) to thousandths, from 0 to `max_milli`. Errors
 * likewise. */
int phx_decimal_json(const char *text, size_t n, uint64_t max_milli, uint64_t *ret);

#endif
