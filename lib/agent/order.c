/* See order.h. Called by link (parse) and steps (image). Checks form, not sense. */
#include "agent/order.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Members that phxd adds to the core's record. */
static const char *const extras[] = {"deploy", "image",        "image_error",  "logs",
				     "anchor", "tasks",        "accounts",     "re",
				     "output", "protect",      "kernel",       "kernel_release",
				     "layout", "keeps_layout", "layout_erased"};

/* The head may be newer than this agent: an order of a kind of its own may have any members. */
static int check_kind(const json_t *j, struct phx_err *err)
{
	const char *kind = phx_json_str(j, "kind", "");
	int known = PHX_ORDER_NONE;
	phx_enum_parse(&phx_order_kind_names, kind, &known, NULL);
	if (known != PHX_ORDER_NONE)
		return 0;
	return phx_err_set(err, -EOPNOTSUPP, "order %s %" PRId64 ": order of unknown kind \"%s\"",
			   kind, phx_json_int(j, "id", 0), kind);
}

int order_parse(const json_t *j, struct phx_order *ret, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *copy = json_is_object(j) ? json_copy((json_t *)j) : NULL;
	if (!copy)
		return phx_err_set(err, -EINVAL, "order: not an object");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(extras); i++)
		json_object_del(copy, extras[i]);
	int r = check_kind(copy, err);
	if (r < 0)
		return r;
	r = phx_json_to_record(&phx_order_record, copy, ret, err);
	return r < 0 ? phx_err_prefix(err, r, "order") : 0;
}

void order_report(json_t *list, enum phx_order_kind kind, uint64_t id)
{
	json_array_append_new(list, json_pack("[s,I]", phx_order_name(kind), (json_int_t)id));
}

int order_tasks(const json_t *order, struct phx_task_order *ret, struct phx_err *err)
{
	const json_t *j = json_object_get(order, "tasks");
	*ret = (struct phx_task_order){0};
	if (!json_is_object(j))
		return phx_err_set(err, -EINVAL, "tasks: not an object");
	int r = phx_json_to_record(&phx_task_order_record, j, ret, err);
	r = r ? r : phx_task_order_check(ret, err);
	if (r < 0)
		phx_record_fini(&phx_task_order_record, ret);
	return r < 0 ? phx_err_prefix(err, r, "tasks") : 0;
}

int order_output(const json_t *order, struct phx_task_ask *ret, struct phx_err *err)
{
	const json_t *j = json_object_get(order, "output");
	struct phx_task_ask ask = {0};
	if (!json_is_object(j))
		return phx_err_set(err, -EINVAL, "output: not an object");
	int r = phx_json_to_record(&phx_task_ask_record, j, &ask, err);
	if (r < 0)
		return phx_err_prefix(err, r, "output");
	*ret = ask;
	return 0;
}

int order_protect(const json_t *order, struct phx_protect *ret, struct phx_err *err)
{
	const json_t *j = json_object_get(order, "protect");
	struct phx_protect protect = {0};
	int r = j ? phx_json_to_record(&phx_protect_record, j, &protect, err) : 0;
	r = r ? r : phx_protect_check(&protect, err);
	if (r < 0)
		return phx_err_prefix(err, r, "protect");
	*ret = protect;
	return 0;
}

/* Is each partition of a volume that there is, and has each volume one? */
static int check_parts(const struct phx_layout *l, struct phx_err *err)
{
	if (!l->volumes.n || l->parts.n > PHX_LAYOUT_PARTS_MAX)
		return phx_err_set(err, -EINVAL, "%u volumes and %u partitions", l->volumes.n,
				   l->parts.n);
	PHX_LIST_EACH(struct phx_layout_part, p, &l->parts)
		if (!phx_layout_volume(&l->volumes, p->volume) || !p->disk[0])
			return phx_err_set(err, -EINVAL, "a partition of volume '%s', on '%s'",
					   p->volume, p->disk);
	return phx_layout_check(&l->volumes, NULL, err);
}

int order_layout(const json_t *order, struct order_layout *ret, struct phx_err *err)
{
	const json_t *j = json_object_get(order, "layout");
	struct order_layout o = {.keeps = phx_json_bool(order, "keeps_layout", false),
				 .erased = phx_json_bool(order, "layout_erased", false)};
	if (!json_is_object(j))
		return phx_err_set(err, -EINVAL, "layout: not an object");
	int r = phx_json_to_record(&phx_layout_record, j, &o.layout, err);
	if (r == 0 && (r = check_parts(&o.layout, err)) < 0)
		phx_record_fini(&phx_layout_record, &o.layout);
	if (r < 0)
		return phx_err_prefix(err, r, "layout");
	*ret = o;
	return 0;
}

int order_accounts(const json_t *order, struct phx_accounts *ret, struct phx_err *err)
{
	const json_t *j = json_object_get(order, "accounts");
	*ret = (struct phx_accounts){0};
	if (!json_is_object(j))
		return phx_err_set(err, -EINVAL, "accounts: not an object");
	int r = phx_json_to_record(&phx_accounts_record, j, ret, err);
	r = r ? r : phx_accounts_check(ret, err);
	if (r < 0)
		phx_record_fini(&phx_accounts_record, ret);
	return r < 0 ? phx_err_prefix(err, r, "accounts") : 0;
}

/* Names become parts of paths; files are trusted by their digests. */
static int check_image(const struct phx_image *image, struct phx_err *err)
{
	if (!phx_name_valid(image->name) || !phx_name_valid(image->version))
		return phx_err_set(err, -EINVAL, "needs a valid name and version");
	PHX_LIST_EACH(struct phx_image_file, f, &image->files)
		if (!phx_name_valid(f->name) || !f->size || !phx_is_sha256(f->sha256))
			return phx_err_set(err, -EINVAL,
					   "file \"%s\": needs a valid name, size and sha256",
					   f->name);
	return 0;
}

int order_image(const json_t *order, const char *member, struct phx_image *ret, struct phx_err *err)
{
	const json_t *j = json_object_get(order, member);
	struct phx_image image;
	PHX_AUTO_JSON json_t *copy = json_is_object(j) ? json_copy((json_t *)j) : NULL;
	if (!copy)
		return phx_err_set(err, -ENOENT, "the order brings no image (member \"%s\"): %s",
				   member, phx_json_str(order, "image_error", "the head has none"));
	json_object_del(copy, "cmdline");
	json_object_del(copy, "signature");
	int r = phx_json_to_record(&phx_image_record, copy, &image, err);
	if (r == 0 && (r = check_image(&image, err)) < 0)
		phx_record_fini(&phx_image_record, &image);
	if (r < 0)
		return phx_err_prefix(err, r, "%s", member);
	*ret = image;
	return 0;
}

/* An order may lack the signature: whether one is demanded is the node's own decision. */
static int check_signature(const struct agent_config *cfg, const json_t *order, const char *member,
			   const struct phx_image *image, struct phx_err *err)
{
	const char *hex = phx_json_str(json_object_get(order, member), "signature", "");
	if (access(cfg->images_signed, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (!hex[0])
		return phx_err_set(err, -EKEYREJECTED,
				   "image %s %s is not signed, and this node wants that (%s)",
				   image->name, image->version, cfg->images_signed);
	return phx_image_verify(image, hex, agent_config_ring(cfg), NULL, err);
}

int order_image_believed(const struct agent_config *cfg, const json_t *order, const char *member,
			 struct phx_image *ret, struct phx_err *err)
{
	struct phx_image image;
	int r = order_image(order, member, &image, err);
	if (r < 0)
		return r;
	r = check_signature(cfg, order, member, &image, err);
	if (r < 0)
		phx_record_fini(&phx_image_record, &image);
	else
		*ret = image;
	return r;
}
