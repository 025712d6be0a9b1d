/* Anchors: lines, and files of them. What is taken is written and read back the same, and nothing
 * that was not signed passes.
 * Parsers: lib/pki/anchor.c */
#include "fuzz/fuzz.h"
#include "pki/anchor.h"

#include <errno.h>
#include <string.h>

static int sign(void *arg, const char *text, char ret[PHX_ANCHOR_SIGNATURE_MAX],
		struct phx_err *err)
{
	(void)arg;
	(void)err;
	memset(ret, "0123456789abcdef"[strlen(text) % 16], 128);
	ret[128] = '\0';
	return 0;
}

static void check(struct phx_anchor *a)
{
	const struct phx_signer signer = {.sign = sign, .arg = NULL};
	char line[PHX_ANCHOR_LINE_MAX];
	struct phx_anchor again;
	struct phx_err err = {0};
	fuzz_never(phx_anchor_verify(a, "/nonexistent/site.pub", &err) == 0 || !err.text[0]);
	fuzz_never(phx_anchor_sign(a, &signer, &err) < 0);
	phx_anchor_format(a, line);
	fuzz_never(phx_anchor_parse(line, &again, &err) < 0);
	fuzz_never(memcmp(&again.seq, &a->seq, sizeof(a->seq)) || strcmp(again.hash, a->hash));
	fuzz_never(phx_anchor_verify(a, "/nonexistent/site.pub", &err) != -ENOENT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	const char *path = fuzz_file("anchors", data, n);
	struct phx_anchor a;
	struct phx_err err = {0};
	struct phx_list lines = {0};
	uint32_t n_bad = 0;
	text[strcspn(text, "\n")] = '\0';
	if (phx_anchor_parse(text, &a, &err) == 0)
		check(&a);
	else
		fuzz_never(!err.text[0]);
	(void)phx_anchor_read(path, 0, &lines, &n_bad, &err);
	phx_list_fini(&lines);
	for (int i = 0; i < 4; i++)
		fuzz_never(phx_anchor_append(path, text, 1, &err) < 0);
	if (phx_anchor_read(path, 2, &lines, &n_bad, &err) == 0)
		fuzz_never(lines.n > 2);
	phx_list_fini(&lines);
	return 0;
}
