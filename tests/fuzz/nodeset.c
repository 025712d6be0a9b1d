/* Hostlists. What is taken has names within the limit, and its folded text is the same set.
 * Parsers: lib/base/nodeset.c */
#include <errno.h>

#include "base/nodeset.h"
#include "fuzz/fuzz.h"

static int group(void *arg, const char *name, struct phx_nodeset *ret)
{
	(void)arg;
	if (strcmp(name, "all") && strncmp(name, "rack:", 5))
		return -ENOENT;
	int r = phx_nodeset_add(ret, "a1");
	return r < 0 ? r : phx_nodeset_add(ret, name[0] == 'a' ? "b07" : name + 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = fuzz_text(data, n);
	struct phx_nodeset set = {0}, again = {0};
	struct phx_err err = {0};
	if (phx_nodeset_parse(text, data && n & 1 ? group : NULL, NULL, &set, &err) == 0) {
		PHX_AUTO_FREE char *folded = phx_nodeset_fold(&set);
		fuzz_never(!folded || set.n > PHX_NODESET_MAX);
		fuzz_never(*folded && phx_nodeset_parse(folded, NULL, NULL, &again, NULL) < 0);
		fuzz_never(again.n != set.n);
		for (uint32_t i = 0; i < set.n; i++)
			fuzz_never(!phx_nodeset_has(&again, set.names[i]));
	} else {
		fuzz_never(!err.text[0] || set.n);
	}
	phx_nodeset_fini(&set);
	phx_nodeset_fini(&again);
	free(text);
	return 0;
}
