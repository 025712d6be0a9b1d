/* How many bytes of a console are taken: see console.h. Called by the process that has consoles. */
#include "console/console.h"

size_t phx_console_rate_take(struct phx_console_rate *r, int64_t now_ms, size_t n)
{
	if (!r->at_ms)
		r->left = r->burst;
	else if (now_ms > r->at_ms)
		r->left += (now_ms - r->at_ms) * r->per_s / 1000;
	if (r->left > r->burst)
		r->left = r->burst;
	r->at_ms = now_ms;
	n = r->left < 0 ? 0 : (uint64_t)r->left < n ? (size_t)r->left : n;
	r->left -= (int64_t)n;
	return n;
}

void phx_console_rate_back(struct phx_console_rate *r, size_t n)
{
	r->left += (int64_t)n;
}
