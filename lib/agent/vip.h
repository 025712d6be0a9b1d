/* The virtual addresses of a director: taken, given back, and watched meanwhile by a thread of
 * their own. One that another machine has taken over while the head was lost is given up
 * (lib/web/claim.h says when). */
#ifndef PHX_AGENT_VIP_H
#define PHX_AGENT_VIP_H

#include "web/table.h"

struct vips;

/** Nothing is held, no thread runs. -ENOMEM. */
int vip_new(struct vips **ret);
/** Ends the thread; addresses stay where they are. NULL is fine. */
void vip_free(struct vips *v);

/** Have the address on the network card in whose network it is, and tell that network; one that is
 * held: nothing. */
int vip_take(struct vips *v, const char *address, struct phx_err *err);
/** Take off all that are no service of `keep`. */
int vip_keep_only(struct vips *v, const struct phx_web_table *keep, struct phx_err *err);

/** The head has answered just now; it does so every beat_ms. */
void vip_heard(struct vips *v, uint32_t beat_ms);
/** Was an address given up since vip_settled()? */
bool vip_given_up(struct vips *v);
/** What is held is what the head wants. */
void vip_settled(struct vips *v);
/** What the head is to hear of the last one that was given up; "" nothing. It is to be told again
 * until vip_told(). */
void vip_note(struct vips *v, char ret[160]);
/** The head has heard `text`, which may be something else. */
void vip_told(struct vips *v, const char *text);

#endif
