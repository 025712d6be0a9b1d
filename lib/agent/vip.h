/* The virtual addresses of a director: takes them, gives them back, and has the loop watch them
 * meanwhile. An address that another machine took over while the head was lost is given up
 * (lib/web/claim.h says when). */
#ifndef PHX_AGENT_VIP_H
#define PHX_AGENT_VIP_H

#include "web/table.h"
#include "agent/loop.h"

struct vips;

/** No address is held yet. `loop` is borrowed. -ENOMEM. */
int vip_new(struct loop *loop, struct vips **ret);
/** Addresses stay on their cards. Safe on NULL. */
void vip_free(struct vips *v);

/** Put the address on the network card in whose network it is, and announce it there. Does nothing
 * if it is held already. */
int vip_take(struct vips *v, const char *address, struct phx_err *err);
/** Take the address off its network card, whoever put it there: an agent of before may have. */
int vip_leave(struct vips *v, const char *address, struct phx_err *err);
/** Remove all held addresses that are not of a service in `keep`, or are another director's
 * share. */
int vip_keep_only(struct vips *v, const struct phx_web_table *keep,
		  const struct phx_web_share *share, struct phx_err *err);
/** The network card in whose network the address is. -ENODEV. */
int vip_card(const char *address, char ret[16], struct phx_err *err);

/** The head has just answered; it answers every beat_ms. */
void vip_heard(struct vips *v, uint32_t beat_ms);
/** Was an address given up since vip_settled()? */
bool vip_given_up(struct vips *v);
/** The head's table is applied: addresses count as not given up from now on. */
void vip_settled(struct vips *v);
/** The text for the head about the last address that was given up; "" none. Reported until
 * vip_told(). */
void vip_note(struct vips *v, char ret[160]);
/** The head has got `text`, which may be another one. */
void vip_told(struct vips *v, const char *text);

#endif
