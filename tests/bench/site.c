/* The settings of a site by themselves: `site DIR N` reads and checks those of DIR and makes the
 * bundles of n1 to nN. Prints the CPU time of each part, as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/site.h"
#include "site/effective.h"

static double cpu_ms(void)
{
	return (double)clock() * 1000 / CLOCKS_PER_SEC;
}

static void say(void *arg, const char *text)
{
	(void)arg;
	fprintf(stderr, "%s\n", text);
}

/* Bytes of all files, so that what was measured was made; -1: not all of them. */
static long render(const struct phx_site_index *ix, int n)
{
	const struct phx_list none = {0};
	long bytes = 0;
	for (int i = 1; i <= n; i++) {
		char name[32];
		struct phx_site_bundle b;
		struct phx_err lacks = {0};
		snprintf(name, sizeof(name), "n%d", i);
		const struct phx_site_node node = {name, "10.0.0.9", "web", "web", NULL, &none};
		if (phx_site_render(ix, &node, &b, &lacks) < 0 || lacks.text[0])
			return -1;
		PHX_LIST_EACH(struct phx_site_out, f, &b.files)
			bytes += (long)strlen(phx_text(f->text));
		phx_record_fini(&phx_site_bundle_record, &b);
	}
	return bytes;
}

int main(int argc, char **argv)
{
	struct phx_site s;
	struct phx_site_index *ix = NULL;
	struct phx_err err = {0};
	if (argc != 3)
		return 64;
	double from = cpu_ms();
	if (phx_site_load(argv[1], say, NULL, &s, &err) != 0 || phx_site_index_new(&s, &ix) < 0)
		return 1;
	double read = cpu_ms();
	long bytes = render(ix, atoi(argv[2]));
	printf("{\"read_ms\": %.1f, \"render_ms\": %.1f, \"bytes\": %ld}\n", read - from,
	       cpu_ms() - read, bytes);
	phx_site_index_free(ix);
	phx_record_fini(&phx_site_record, &s);
	return bytes > 0 ? 0 : 1;
}
