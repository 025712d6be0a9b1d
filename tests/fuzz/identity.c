/* Owners and members of agreements, as people write them. What is taken reads back the same with
 * its kind, and is no other kind's; a list gives back the words that were put in.
 * Parsers: lib/base/identity.c */
#include "base/identity.h"
#include "fuzz/fuzz.h"

static void try_word(const char *text)
{
	struct phx_identity is, again;
	struct phx_err err = {0};
	char whole[PHX_IDENTITY_MAX];
	if (phx_identity_parse(text, &is, &err) < 0) {
		fuzz_never(!err.text[0] || phx_identity_is_typed(text));
		return;
	}
	bool typed = is.kind != PHX_IDENTITY_KINDS;
	fuzz_never(typed != phx_identity_is_typed(text) || typed != (strchr(text, ':') != NULL));
	fuzz_never(!is.name[0] || strpbrk(is.name, ":/ ,\"'"));
	for (int kind = 0; kind < PHX_IDENTITY_KINDS; kind++) {
		fuzz_never(phx_identity_is(text, (enum phx_identity_kind)kind, is.name) !=
			   (kind == is.kind));
		phx_identity_format((enum phx_identity_kind)kind, is.name, whole);
		fuzz_never(whole[0] &&
			   (phx_identity_parse(whole, &again, NULL) < 0 || again.kind != kind ||
			    strcmp(again.name, is.name) != 0));
	}
}

static void try_list(const char *text)
{
	char word[PHX_IDENTITY_MAX], list[256] = "";
	unsigned n = 0, n_left = 0;
	for (const char *at = text; phx_words_next(&at, word, sizeof(word));) {
		bool had = phx_words_have(list, word);
		if (phx_words_add(list, sizeof(list), word) < 0)
			continue;
		n += !had;
		fuzz_never(!phx_words_have(list, word));
	}
	fuzz_never(strlen(list) >= sizeof(list));
	for (const char *at = text; phx_words_next(&at, word, sizeof(word));)
		n_left += phx_words_remove(list, word);
	fuzz_never(n_left != n || list[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = fuzz_text(data, n);
	try_word(text);
	try_list(text);
	free(text);
	return 0;
}
