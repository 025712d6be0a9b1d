/* Beacons: what a machine says in the clear of how far it got, before it has a key to sign with.
 * /init of the deploy environment and the agent send a beacon as the body of POST /beacon/MAC,
 * phxd reads it. Anybody on the network can write one, so it is a claim: it is shown, marked as
 * unproven, and nothing follows from it. Lines of words:
 *
 *	phoenix-beacon 1
 *	from init | agent
 *	stage modules | network | agent | head
 *	up 12				seconds since the kernel began
 *	clock 1764380000		what the machine believes is the time, in s since 1970
 *	memory 2048			MiB
 *	kernel 6.1.0-31-amd64
 *	image deploy 1
 *	nic eth0 02:00:00:00:00:01 virtio_net up	"-": no driver; up | down: its link
 *	pci 8086:1593 020000		a device without a driver, and its class
 *	disk sda 41943040		KiB
 *	address 10.0.0.5/24		that DHCP gave; absent: none so far
 *	lost 3 10			so many of so many trials of the head had no answer
 *	head reached | ERROR...		whether the agent reached the head by TLS
 *
 * A line whose first word is unknown is skipped: a newer image wrote it. Pure. */
#ifndef PHX_TYPES_BEACON_H
#define PHX_TYPES_BEACON_H

#include "base/record.h"

/** Longest body; of lists, so many rows are kept and the others counted. */
enum { PHX_BEACON_MAX = 4096, PHX_BEACON_ROWS = 16 };

enum phx_beacon_from { PHX_BEACON_INIT, PHX_BEACON_AGENT };
extern const struct phx_enum phx_beacon_from_names;

/** How far it got: what it has begun last. */
enum phx_beacon_stage {
	PHX_BEACON_MODULES, /* it loads drivers */
	PHX_BEACON_NETWORK, /* drivers are loaded, DHCP was asked */
	PHX_BEACON_BEGIN,   /* the agent is started */
	PHX_BEACON_HEAD,    /* the agent has asked the head */
};
extern const struct phx_enum phx_beacon_stage_names;

#define PHX_BEACON_NIC_FIELDS(F, S) \
	F(S, dev, STR(32)) \
	F(S, mac, STR(PHX_MAC_MAX)) \
	F(S, driver, STR(32)) /* "": none */ \
	F(S, link, BOOL)
PHX_RECORD_STRUCT(phx_beacon_nic, PHX_BEACON_NIC_FIELDS);

#define PHX_BEACON_PCI_FIELDS(F, S) \
	F(S, vendor, U32) \
	F(S, device, U32) \
	F(S, class_code, U32)
PHX_RECORD_STRUCT(phx_beacon_pci, PHX_BEACON_PCI_FIELDS);

#define PHX_BEACON_DISK_FIELDS(F, S) \
	F(S, dev, STR(32)) \
	F(S, size_kib, U64)
PHX_RECORD_STRUCT(phx_beacon_disk, PHX_BEACON_DISK_FIELDS);

#define PHX_BEACON_FIELDS(F, S) \
	F(S, from, ENUM(phx_beacon_from)) \
	F(S, stage, ENUM(phx_beacon_stage)) \
	F(S, up_s, U64) \
	F(S, clock_s, U64) \
	F(S, memory_mib, U64) \
	F(S, kernel, STR(96)) \
	F(S, image, STR(96)) \
	F(S, address, STR(32)) /* "": none */ \
	F(S, lost, U32)        /* trials of the head without an answer */ \
	F(S, tried, U32)       /* of so many; 0: not tried */ \
	F(S, reached, BOOL)    /* the head, by TLS */ \
	F(S, head, STR(200))   /* why it was not reached; "": not tried, or reached */ \
	F(S, nics, LIST(phx_beacon_nic)) \
	F(S, pci, LIST(phx_beacon_pci)) /* without a driver */ \
	F(S, disks, LIST(phx_beacon_disk)) \
	F(S, more, U32) /* rows that were not kept */
PHX_RECORD_STRUCT(phx_beacon, PHX_BEACON_FIELDS);

/** Reads a beacon of `n` bytes. Texts are cut to their room; what would steer a terminal, and what
 * is no UTF-8, becomes '?'. -EINVAL with a text that names the line, -EFBIG, -ENOMEM: nothing is
 * set. The caller frees `ret` by phx_record_fini(). */
int phx_beacon_parse(const char *text, size_t n, struct phx_beacon *ret, struct phx_err *err);

/** Appends the beacon as its sender writes it. */
void phx_beacon_format(const struct phx_beacon *b, struct phx_buf *to);

/** Appends what it says as words KEY=VALUE, as a row of a start has them (types/start.h): how far
 * it came first, then what lib/why reads, then its cards and disks. No value holds a blank. */
void phx_beacon_words(const struct phx_beacon *b, struct phx_buf *to);

#endif
