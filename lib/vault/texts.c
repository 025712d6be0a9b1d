/* Texts in a row, each with its '\0': how the head and the vault tell each other several. Called by
 * client.c and answer.c. */
#include "vault/internal.h"

#include <string.h>

void vault_add_text(struct phx_buf *b, const char *text)
{
	text = text ? text : "";
	phx_buf_add(b, text, strlen(text) + 1);
}

const char *vault_text_at(const char *texts, size_t n, unsigned i)
{
	const char *at = texts;
	while (i-- && at < texts + n)
		at += strlen(at) + 1;
	return at < texts + n ? at : NULL;
}
