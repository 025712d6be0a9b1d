/* Files of a bundle, by their paths: see internal.h. Called by all who make some. Pure. */
#include <errno.h>
#include <string.h>

#include "site/internal.h"

/* The place of the path in the list, which is sorted; *ret_there: it has it. */
static uint32_t place_of(const struct phx_list *files, const char *path, bool *ret_there)
{
	uint32_t from = 0, to = files->n;
	while (from < to) {
		uint32_t at = (from + to) / 2;
		int d = strcmp(PHX_LIST_AT(files, struct phx_site_out, at)->path, path);
		if (d == 0) {
			*ret_there = true;
			return at;
		}
		from = d < 0 ? at + 1 : from;
		to = d < 0 ? to : at;
	}
	*ret_there = false;
	return from;
}

struct phx_site_out *phx_site_out_of(struct phx_site_making *r, const char *path)
{
	struct phx_list *files = &r->b.files;
	bool there;
	uint32_t at = place_of(files, path, &there);
	if (!there && !phx_list_push(files, sizeof(struct phx_site_out)))
		return NULL;
	struct phx_site_out *f = PHX_LIST_AT(files, struct phx_site_out, at);
	if (there)
		phx_record_fini(&phx_site_out_record, f);
	else
		memmove(f + 1, f, (files->n - 1 - at) * sizeof(*f));
	*f = (struct phx_site_out){0};
	PHX_STR_SET(f->path, path);
	return f;
}

static int add_run(struct phx_site_out *f, const char *const *argv)
{
	for (; *argv; argv++) {
		struct phx_word *w = phx_list_push(&f->run, sizeof(*w));
		if (!w)
			return -ENOMEM;
		PHX_STR_SET(w->text, *argv);
	}
	return 0;
}

int phx_site_out_add(struct phx_site_making *r, const char *path, uint32_t mode, char *text,
		     const char *const *argv)
{
	struct phx_site_out *f = text ? phx_site_out_of(r, path) : NULL;
	if (!f) {
		free(text);
		return -ENOMEM;
	}
	f->mode = mode;
	f->text = text;
	return argv ? add_run(f, argv) : 0;
}
