/* The kinds of orders for agents: order_kind.def. They travel by their names, in orders and in what
 * an agent reports that it has. Pure. */
#ifndef PHX_TYPES_ORDER_KIND_H
#define PHX_TYPES_ORDER_KIND_H

#include "base/util.h"

enum phx_order_kind {
	PHX_ORDER_NONE, /* "": no order, or one of a kind that this program does not know */
#define ORDER_KIND(name) PHX_ORDER_##name,
#include "types/order_kind.def"
#undef ORDER_KIND
	PHX_ORDER_KIND_COUNT_
};
extern const struct phx_enum phx_order_kind_names;
/** Its name as orders have it, never NULL. */
static inline const char *phx_order_name(enum phx_order_kind kind)
{
	return phx_enum_name(&phx_order_kind_names, (int)kind);
}

#endif
