/* The power drivers: one row here and one file (lib/power/NAME.c) each. What names or lists drivers
 * (the words of a BMC record, the help and the manual of `phx node bmc`, the table of power.c) is
 * made of these rows. */
#ifndef PHX_POWER_DRIVERS_H
#define PHX_POWER_DRIVERS_H

/** D(name, "keys of a node's BMC record (types/bmc.h) that it reads"). An empty driver is the last
 * one. */
#define PHX_POWER_DRIVERS(D) \
	D(ipmi, "address, user, password_file, workarounds, tool") \
	D(redfish, "address, user, password_file, insecure, system") \
	D(wol, "mac, interface, address") \
	D(script, "script") \
	D(none, "nothing")

#endif
