/* Texts of others, for one line. */
#include "base/utf8.h"
#include "outlet/internal.h"

void outlet_put_clean(struct phx_buf *b, const char *text)
{
	for (size_t n; *text; text += n) {
		n = phx_utf8_length(text);
		bool bad = !n || phx_utf8_steering(text);
		phx_buf_add(b, bad ? "?" : text, bad ? 1 : n);
		n = n ? n : 1;
	}
}
