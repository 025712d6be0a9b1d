/* The names of the kinds of orders: see order_kind.h. Pure. */
#include "types/order_kind.h"

#define ORDER_KIND(name) #name,
static const char *const names[] = {
	"",
#include "types/order_kind.def"
};
#undef ORDER_KIND
const struct phx_enum phx_order_kind_names = {"kind of order", names, PHX_ORDER_KIND_COUNT_};
