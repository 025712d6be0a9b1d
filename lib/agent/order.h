/* Orders as they come over the wire: the core's record, and members that phxd adds. */
#ifndef PHX_AGENT_ORDER_H
#define PHX_AGENT_ORDER_H

#include "agent/config.h"
#include "base/json.h"
#include "config/image.h"
#include "state/order.h"
#include "types/account.h"
#include "types/disk_select.h"
#include "types/task.h"

/** Parse one order without the members that phxd adds: "deploy", "image", "image_error", "logs",
 * "anchor", "tasks", "output", "accounts", "re" (of a step: the RE that the node goes to, or stays
 * in), "protect", "kernel" (the image whose kernel is started), "kernel_release", "layout",
 * "keeps_layout", "layout_erased". Its kind is never PHX_ORDER_NONE. -EINVAL with the path in the
 * JSON; -EOPNOTSUPP: of a kind that is not known here. The caller frees *ret by
 * phx_record_fini(&phx_order_record, ret). */
int order_parse(const json_t *j, struct phx_order *ret, struct phx_err *err);

/** Adds [KIND, ID] to the list of the orders that the agent has, which it reports. */
void order_report(json_t *list, enum phx_order_kind kind, uint64_t id);

/** The tasks in an order of kind "tasks", checked by phx_task_order_check(). -EINVAL, -EPERM,
 * -E2BIG. The caller frees *ret by phx_record_fini(&phx_task_order_record, ret); on failure it is
 * all zero. */
int order_tasks(const json_t *order, struct phx_task_order *ret, struct phx_err *err);

/** The question in an order of kind "output". -EINVAL; *ret is untouched then. */
int order_output(const json_t *order, struct phx_task_ask *ret, struct phx_err *err);

/** The accounts in an order of kind "accounts", checked by phx_accounts_check(). The caller frees
 * *ret by phx_record_fini(&phx_accounts_record, ret); on failure it is all zero. */
int order_accounts(const json_t *order, struct phx_accounts *ret, struct phx_err *err);

/** Which disks are protected, as the order says: an older head says nothing, and protects none.
 * -EINVAL: it cannot be read, or has a selector that is not known here; *ret is untouched then. */
int order_protect(const json_t *order, struct phx_protect *ret, struct phx_err *err);

/** What a step layout is to do. */
struct order_layout {
	struct phx_layout layout;
	bool keeps;  /* it is there, and only opened */
	bool erased; /* all its disks were erased in the same hand-over */
};
/** The layout in an order, checked by phx_layout_check(). -EINVAL: there is none, or it is wrong.
 * The caller frees ret->layout by phx_record_fini(&phx_layout_record, ...). */
int order_layout(const json_t *order, struct order_layout *ret, struct phx_err *err);

/** The image in member `member` of an order: name, version, digest, kernel_release, files. -ENOENT:
 * the order has none; -EINVAL. The caller frees *ret by phx_record_fini(&phx_image_record, ret); on
 * failure *ret is untouched. */
int order_image(const json_t *order, const char *member, struct phx_image *ret,
		struct phx_err *err);

/** As order_image(), for an image that is to be booted or installed here. -EKEYREJECTED: this node
 * demands signed images (`images_signed` of `cfg`), and this one is not signed by a key that the
 * node has. The signature covers the digest of each file, too. */
int order_image_believed(const struct agent_config *cfg, const json_t *order, const char *member,
			 struct phx_image *ret, struct phx_err *err);

#endif
