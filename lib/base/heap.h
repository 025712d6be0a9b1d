/* Heaps: lists whose first item is the one that comes before all others. Pure.
 *
 *	static bool sooner(const struct due *a, const struct due *b);
 *	PHX_HEAP(due, struct due, sooner)
 *
 * makes due_push(), due_top(), due_pop() and due_drop() for lists of struct
 * due. They are functions of their own, not calls through pointers, since
 * simulations live in them. Where `before` leaves two items equal, which of
 * them is first follows from the order of calls alone. */
#ifndef PHX_BASE_HEAP_H
#define PHX_BASE_HEAP_H

#include <errno.h>

#include "base/util.h"

/** name_settle(context, items, n, i, item): puts `item` where it belongs among items[0] to items[n
 * - 1], of which place `i` is free; items in its way move. Calls placed(context, item, place) for
 * each item that it puts somewhere, for heaps whose items know their place, and compares by
 * before(context, a, b). */
#define PHX_HEAP_SETTLE(name, context, type, before, placed) \
	static inline void name##_settle(context c, type *items, uint32_t n, uint32_t i, \
					 type item) \
	{ \
		for (; i && before(c, &item, &items[(i - 1) / 2]); i = (i - 1) / 2) { \
			items[i] = items[(i - 1) / 2]; \
			placed(c, &items[i], i); \
		} \
		for (uint32_t child; (child = 2 * i + 1) < n; i = child) { \
			if (child + 1 < n && before(c, &items[child + 1], &items[child])) \
				child++; \
			if (!before(c, &items[child], &item)) \
				break; \
			items[i] = items[child]; \
			placed(c, &items[i], i); \
		} \
		items[i] = item; \
		placed(c, &items[i], i); \
	}

/** Functions of a struct phx_list of `type`, which `before(const type *a, const type *b)` orders:
 *   int name_push(list, item)      add one; -ENOMEM
 *   const type *name_top(list)     the first, NULL when there is none; borrowed until the next call
 *   type name_pop(list)            take the first out; there is one
 *   void name_drop(list, i)        take out the one at place `i` */
#define PHX_HEAP(name, type, before) \
	static inline bool name##_before_(const struct phx_list *l, const type *a, const type *b) \
	{ \
		(void)l; \
		return before(a, b); \
	} \
	static inline void name##_placed_(const struct phx_list *l, const type *item, \
					  uint32_t place) \
	{ \
		(void)l, (void)item, (void)place; \
	} \
	PHX_HEAP_SETTLE(name, const struct phx_list *, type, name##_before_, name##_placed_) \
	__attribute__((unused)) static inline int name##_push(struct phx_list *l, type item) \
	{ \
		if (!phx_list_push(l, sizeof(item))) \
			return -ENOMEM; \
		name##_settle(l, l->items, l->n, l->n - 1, item); \
		return 0; \
	} \
	__attribute__((unused)) static inline const type *name##_top(const struct phx_list *l) \
	{ \
		return l->n ? l->items : NULL; \
	} \
	__attribute__((unused)) static inline void name##_drop(struct phx_list *l, uint32_t i) \
	{ \
		type *items = l->items; \
		if (i < --l->n) \
			name##_settle(l, items, l->n, i, items[l->n]); \
	} \
	__attribute__((unused)) static inline type name##_pop(struct phx_list *l) \
	{ \
		type *items = l->items, top = items[0]; \
		l->n--; \
		name##_settle(l, items, l->n, 0, items[l->n]); \
		return top; \
	}

#endif
