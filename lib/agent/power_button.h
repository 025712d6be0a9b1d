/* The button by which the machine is asked to switch itself off: pressed by a person, or by the BMC
 * for `phx node power off`. Nothing else listens to it in the deploy environment, nor in a system
 * without systemd-logind and acpid. Called at the agent's start; decides nothing. */
#ifndef PHX_AGENT_POWER_BUTTON_H
#define PHX_AGENT_POWER_BUTTON_H

#include "agent/loop.h"

struct power_button;

/** All borrowed. */
struct power_button_config {
	struct loop *loop;
	const char *root; /* whose sys/class/input and dev/input are looked at */
	loop_fn pressed;  /* called with `arg` and the loop held, each time */
	void *arg;
};

/** Listens to the buttons that the machine has, and to those whose driver is loaded later. -ENOMEM.
 * What cannot be heard is logged. */
int power_button_new(const struct power_button_config *config, struct power_button **ret);
/** Looks for buttons anew; the news of the kernel do it by themselves. Called with the loop held.
 * Returns to how many it listens. */
uint32_t power_button_look(struct power_button *b);
/** Safe on NULL. */
void power_button_free(struct power_button *b);

#endif
