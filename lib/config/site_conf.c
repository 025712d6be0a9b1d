/* Files of the settings of the site in the form of libconfig: what is wrong with one group is said,
 * and the next one is read. Called by site.c and site_files.c. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "config/site_internal.h"

void site_complain(struct site_reader *rd, struct phx_err *err)
{
	rd->say(rd->arg, err->text);
	rd->n++;
	phx_err_clear(err);
}

void site_place(const struct phx_conf *c, const config_setting_t *s, char ret[PHX_SITE_PLACE_MAX])
{
	snprintf(ret, PHX_SITE_PLACE_MAX, "%s:%u", c->file, phx_conf_line(s));
}

int site_conf_read(struct site_reader *rd, const char *dir, const char *name,
		   const struct phx_record *keys, struct phx_conf *ret)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	PHX_AUTO_FREE void *unused = calloc(1, keys->size);
	if (path && access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	int r = path && unused ? phx_conf_read(path, ret, &err) : -ENOMEM;
	if (r == 0) {
		/* only for keys that nobody knows */
		r = phx_conf_group(ret, config_root_setting(&ret->cfg), keys, unused, &err);
		phx_record_fini(keys, unused);
	}
	if (r < 0)
		site_complain(rd, &err);
	return r == 0;
}

void site_each(struct site_reader *rd, const struct phx_conf *c, const char *key,
	       int (*fn)(struct site_reader *rd, const struct phx_conf *c,
			 const config_setting_t *s, struct phx_err *err))
{
	struct phx_err err = {0};
	config_setting_t *list = NULL;
	if (phx_conf_list(c, config_root_setting(&c->cfg), key, &list, &err) < 0)
		site_complain(rd, &err);
	for (int i = 0; list && i < config_setting_length(list); i++)
		if (fn(rd, c, config_setting_get_elem(list, (unsigned)i), &err) < 0)
			site_complain(rd, &err);
}
