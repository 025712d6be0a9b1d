/* Text of users and nodes, shown so that it steers no terminal. Called by all that prints. */
#include "base/utf8.h"
#include "cli/cli.h"

/* `kept`: steers, and stays. What is no UTF-8 is written byte by byte. */
static void put_escaped(struct phx_buf *b, const char *text, uint32_t kept, const char *short_form,
			const char *long_form)
{
	for (const char *p = text ? text : ""; *p;) {
		size_t n = phx_utf8_length(p);
		uint32_t c = n ? phx_utf8_steering(p) : (unsigned char)*p;
		n = n ? n : 1;
		if (!c || c == kept)
			phx_buf_add(b, p, n);
		else
			phx_buf_addf(b, c < 0x100 ? short_form : long_form, c);
		p += n;
	}
}

void cli_put_clean(struct phx_buf *b, const char *text)
{
	put_escaped(b, text, '\n', "\\x%02x", "\\u%04x");
}

void cli_put_line(struct phx_buf *b, const char *text)
{
	put_escaped(b, text, 0, "\\x%02x", "\\u%04x");
}

void cli_put_json(struct phx_buf *b, const char *text)
{
	put_escaped(b, text, '\n', "\\u%04x", "\\u%04x");
}
