/* The certificates of people that were issued here, by the copies that lie beside the CA: so that
 * they can be listed and revoked when nobody has their files any more. Called by the command line,
 * which issues them, and by the vault. Changes nothing. */
#include "pki/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

PHX_RECORD_TABLE(phx_issued, PHX_ISSUED_FIELDS);

/* 1: the file holds none. */
static int read_one(const char *path, const struct phx_pki *p, struct phx_issued *ret)
{
	PHX_AUTO_FREE char *pem = NULL;
	struct phx_cert_info info;
	if (phx_file_read(path, PHX_PEM_MAX, &pem, NULL, NULL) < 0 ||
	    phx_cert_info_pem(pem, path, &info, NULL) < 0)
		return 1;
	PHX_AUTO_CERT X509 *x = phx_cert_parse(pem, path, NULL);
	int ca = x && p ? phx_cas_signed(&p->cas, x) : -1;
	*ret = (struct phx_issued){.expires_s = info.expires_s};
	PHX_STR_SET(ret->serial, info.serial);
	PHX_STR_SET(ret->name, info.name);
	PHX_STR_SET(ret->kind, phx_enum_name(&phx_cert_kind_names, (int)info.kind));
	PHX_STR_SET(ret->ca, ca < 0 ? "" : p->cas.ids[ca]);
	return 0;
}

static int by_serial(const void *a, const void *b)
{
	return strcmp(((const struct phx_issued *)a)->serial,
		      ((const struct phx_issued *)b)->serial);
}

int phx_pki_people(const char *dir, const struct phx_pki *p, struct phx_list *ret,
		   struct phx_err *err)
{
	PHX_AUTO_FREE char *people = phx_path("%s/people", dir);
	DIR *files = people ? opendir(people) : NULL;
	int r = files || (people && errno == ENOENT) ? 0
		: people ? phx_err_set(err, -errno, "%s: %s", people, strerror(errno))
			 : -ENOMEM;
	for (struct dirent *e; r == 0 && files && (e = readdir(files));) {
		struct phx_issued is, *to;
		PHX_AUTO_FREE char *path = phx_path("%s/%s", people, e->d_name);
		if (!path)
			r = -ENOMEM;
		else if (e->d_name[0] != '.' && read_one(path, p, &is) == 0) {
			to = phx_list_push(ret, sizeof(*to));
			r = to ? 0 : -ENOMEM;
			if (to)
				*to = is;
		}
	}
	if (files)
		closedir(files);
	if (r == 0 && ret->n)
		qsort(ret->items, ret->n, sizeof(struct phx_issued), by_serial);
	return r;
}
