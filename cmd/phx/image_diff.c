/* phx image diff: what differs between two images, or between one and what it was made of. Works on
 * the store itself; changes nothing. */
#include <errno.h>

#include "base/json.h"
#include "deploy/difference.h"
#include "deploy/store.h"
#include "phx/cli.h"
#include "phx/image.h"

static void image_fini(struct phx_image *im)
{
	phx_record_fini(&phx_image_record, im);
}

/* "IMAGE" or "IMAGE:VERSION". */
static int find(const char *dir, const char *word, struct phx_image *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *name = strdup(word);
	char *colon = name ? strchr(name, ':') : NULL;
	if (colon)
		*colon = '\0';
	return name ? phx_images_find(dir, name, colon ? colon + 1 : NULL, ret, err) : -ENOMEM;
}

/* What `im` was made of: 1, it is there no more. */
static int find_parent(const char *dir, const struct phx_image *im, struct phx_image *ret,
		       struct phx_err *err)
{
	struct phx_list all = {0};
	if (!im->parent[0])
		return phx_err_set(err, -EINVAL,
				   "image %s %s was made of no other one: name two images",
				   im->name, im->version);
	int r = phx_images_list(dir, &all, NULL, err), found = 1;
	PHX_LIST_EACH(struct phx_image, one, &all)
		if (r == 0 && found == 1 && !strcmp(one->digest, im->parent))
			found = phx_record_copy(&phx_image_record, ret, one);
	phx_images_fini(&all);
	return r ? r : found;
}

static const struct cli_column package_columns[] = {
	{.head = "PACKAGE", .path = "name"},
	{.head = "ARCH", .path = "architecture"},
	{.head = "FROM", .path = "from"},
	{.head = "TO", .path = "to"},
};
static const struct cli_column file_columns[] = {
	{.head = "CHANGE", .path = "change"},
	{.head = "FILE", .path = "path"},
};

static json_t *name_json(const struct phx_image *im)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "name", im->name, "version", im->version, "digest",
			 im->digest, "kernel_release", im->kernel_release);
}

static int print(struct cli *cli, json_t *from, const struct phx_image *to,
		 const struct phx_image_difference *d)
{
	PHX_AUTO_JSON json_t *j =
		json_pack("{s:o, s:o, s:o, s:o}", "from", from, "to", name_json(to), "packages",
			  phx_json_from_list(&phx_os_change_record, &d->packages), "files",
			  phx_json_from_list(&phx_file_change_record, &d->files));
	if (!j)
		return cli_fail(CLI_PARTIAL, "out of memory");
	if (cli_structured(cli))
		return cli_print_value(cli, j);
	const char *was = phx_json_str(json_object_get(j, "from"), "kernel_release", NULL);
	if (was && strcmp(was, to->kernel_release))
		printf("kernel %s -> %s\n", was, to->kernel_release);
	int code = CLI_OK;
	if (d->packages.n)
		code = cli_print_table(cli, package_columns, PHX_ARRAY_SIZE(package_columns),
				       json_object_get(j, "packages"), 0);
	if (!code && d->files.n)
		code = cli_print_table(cli, file_columns, PHX_ARRAY_SIZE(file_columns),
				       json_object_get(j, "files"), 0);
	fflush(stdout);
	return code;
}

static int compare(struct cli *cli, const char *dir, const struct phx_image *a,
		   const struct phx_image *b)
{
	PHX_AUTO(phx_image_difference_fini) struct phx_image_difference d = {0};
	struct phx_err err = {0};
	int r = phx_images_compare(dir, a, b, !cli_has(cli, CLI_OPT_no_files), &d, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	int code = print(cli, name_json(a), b, &d);
	if (d.no_packages)
		fprintf(stderr,
			"phx: packages are not compared: an image has no packages.txt, and "
			"there is no program rpm here, or no files were read\n");
	return code;
}

/* The parent is gone: what was noted of its packages is left. */
static int show_noted(struct cli *cli, const char *dir, const struct phx_image *im)
{
	PHX_AUTO(phx_image_difference_fini) struct phx_image_difference d = {0};
	struct phx_err err = {0};
	int r = phx_image_changes(dir, im, &d.packages, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	int code = print(cli, json_pack("{s:s}", "digest", im->parent), im, &d);
	fprintf(stderr,
		"phx: what %s %s was made of is not there any more: its packages alone were "
		"noted\n",
		im->name, im->version);
	return code;
}

static int diff_parent(struct cli *cli, const char *dir, const struct phx_image *im)
{
	PHX_AUTO(image_fini) struct phx_image parent = {0};
	struct phx_err err = {0};
	int r = find_parent(dir, im, &parent, &err);
	return r < 0 ? cli_fail_err(r, &err)
		: r  ? show_noted(cli, dir, im)
		     : compare(cli, dir, &parent, im);
}

int cmd_image_diff(struct cli *cli)
{
	PHX_AUTO(image_fini) struct phx_image a = {0};
	PHX_AUTO(image_fini) struct phx_image b = {0};
	const char *dir = cli_image_store(cli);
	struct phx_err err = {0};
	if (!dir)
		return cli->head_code;
	int r = find(dir, cli_arg(cli, 0), &a, &err);
	if (r == 0 && cli->args.n_args == 1)
		return diff_parent(cli, dir, &a);
	r = r ? r : find(dir, cli_arg(cli, 1), &b, &err);
	return r < 0 ? cli_fail_err(r, &err) : compare(cli, dir, &a, &b);
}
