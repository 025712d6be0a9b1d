/* What profiles and nodes of the settings of a site say, which both have the same keys: a profile
 * is a named set of them, and a group of nodes has profiles and keys of its own. Of a node count
 * all its profiles in their order, then its own; what comes later wins, key by key (effective.h).
 * Pure. */
#ifndef PHX_SITE_SETTING_H
#define PHX_SITE_SETTING_H

#include "site/network.h"

/** One value: of `NAME = "text"` and "NAME=text" both, of a word its text alone. */
#define PHX_SITE_VALUE_FIELDS(F, S) \
	F(S, name, STR(64)) /* two values of one name are about one thing */ \
	F(S, text, STR(256)) \
	F(S, line, U32) /* of the file in which its set is */
PHX_RECORD_STRUCT(phx_site_value, PHX_SITE_VALUE_FIELDS);

#define PHX_SITE_MOUNT_FIELDS(F, S) \
	F(S, what, STR(256), \
	  KEY(what, TEXT(1, 255), PHX_REQUIRED, \
	      "What is mounted: \"nfs:/home\", \"LABEL=scratch\", a device.")) \
	F(S, where, STR(256), \
	  KEY(where, PATH(2, 255), PHX_REQUIRED, "Where; made where it is missing.")) \
	F(S, type, STR(32), KEY(type, TEXT(1, 31), PHX_REQUIRED, "Its type: nfs, ext4, ...")) \
	F(S, options, STR(256), \
	  KEY(options, TEXT(0, 255), "", "Options, with commas, as in fstab(5).")) \
	F(S, line, U32)
PHX_RECORD_STRUCT(phx_site_mount, PHX_SITE_MOUNT_FIELDS);

/** A network card, a bond, a VLAN or a bridge of a node. Of one name each key counts that the last
 * set has. */
#define PHX_SITE_NIC_FIELDS(F, S) \
	F(S, name, STR(16), \
	  KEY(name, TEXT(1, 15), PHX_REQUIRED, \
	      "Name of the device: \"eth0\", \"bond0\"; of a card with `mac` or `path` any " \
	      "name.")) \
	F(S, mac, STR(PHX_MAC_MAX), \
	  KEY(mac, TEXT(0, 17), "", "Of a card: its MAC address, by which it is found.")) \
	F(S, path, STR(64), \
	  KEY(path, TEXT(0, 63), "", "Of a card: its place, as \"pci-0000:3b:00.0\".")) \
	F(S, network, STR(PHX_NAME_MAX), \
	  KEY(network, TEXT(0, 63), "", \
	      "Its network, of networks.conf: MTU, name servers and, of a VLAN, the number.")) \
	F(S, address, STR(46), \
	  KEY(address, TEXT(0, 45), "", \
	      "\"dhcp\", an IPv4 address, or \"pool\": `first` for the first node of the group, " \
	      "the next one for the second. Empty: none.")) \
	F(S, first, STR(46), KEY(first, ADDRESS, "", "The first address of a pool.")) \
	F(S, address6, STR(46), \
	  KEY(address6, TEXT(0, 45), "", \
	      "An IPv6 address of `subnet6` of its network. Empty: none; the card has no IPv6 " \
	      "then.")) \
	F(S, default_route, BOOL, \
	  KEY(default_route, YES, "false", "Whether the gateway of its network is the way out.")) \
	F(S, members, LIST(phx_word), \
	  KEY(members, WORDS(8), "", "Of a bond: its cards, by their names.")) \
	F(S, mode, STR(16), \
	  KEY(mode, TEXT(0, 15), "", \
	      "Of a bond: active-backup (the default), 802.3ad, balance-rr, balance-xor, " \
	      "broadcast, balance-tlb, balance-alb.")) \
	F(S, monitor_ms, U32, \
	  KEY(monitor_ms, NUMBER(0, 10000, "ms"), "0", \
	      "Of a bond: how often the links are looked at; 0: every 100 ms.")) \
	F(S, parent, STR(16), \
	  KEY(parent, TEXT(0, 15), "", "Of a VLAN: the card or bond that it is on.")) \
	F(S, ports, LIST(phx_word), KEY(ports, WORDS(16), "", "Of a bridge: its ports.")) \
	F(S, line, U32)
PHX_RECORD_STRUCT(phx_site_nic, PHX_SITE_NIC_FIELDS);

/** Kinds of values: member of phx_site_set, how it is written, and what happens to several. */
enum phx_site_form {
	PHX_SITE_PAIRS, /* { NAME = "text"; } */
	PHX_SITE_SPLIT, /* [ "NAME=text" ], the name before the first "=" */
	PHX_SITE_WORDS, /* [ "NAME", "NAME=text" ], the text is all of it */
	PHX_SITE_LIST,  /* [ "text" ]: the last set that has any has all of them */
	PHX_SITE_TEXTS, /* [ "text" ]: without names; those of all sets */
};
#define PHX_SITE_VALUES(V) \
	V(variables, PAIRS) \
	V(sysctl, SPLIT) \
	V(kernel_args, WORDS) \
	V(modules, WORDS) \
	V(modules_blocked, WORDS) \
	V(dns, LIST) \
	V(search, LIST) \
	V(ntp, LIST) \
	V(syslog, LIST) \
	V(protected_disks, TEXTS)
#define PHX_SITE_VALUE_ENUM_(name, form) PHX_SITE_VALUE_##name,
enum phx_site_value_kind { PHX_SITE_VALUES(PHX_SITE_VALUE_ENUM_) PHX_SITE_VALUE_COUNT_ };

#define PHX_SITE_SET_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), KEY(name, TEXT(0, 63), "", "Name of a profile.")) \
	F(S, nodes, STR(256), \
	  KEY(nodes, TEXT(0, 255), "", \
	      "Of a group of nodes: which ones, as \"n[1-9]\". A node may be in several groups.")) \
	F(S, profiles, LIST(phx_site_value), \
	  KEY(profiles, OTHER, "", "Of a group of nodes: their profiles, the last one wins.")) \
	F(S, variables, LIST(phx_site_value), \
	  KEY(variables, OTHER, "", \
	      "{ NAME = \"text\"; }: what @NAME@ stands for in files. Names are of capitals, " \
	      "digits and _.")) \
	F(S, sysctl, LIST(phx_site_value), \
	  KEY(sysctl, OTHER, "", "Settings of the kernel: [ \"vm.swappiness=10\" ].")) \
	F(S, kernel_args, LIST(phx_site_value), \
	  KEY(kernel_args, OTHER, "", \
	      "Arguments of the kernel: [ \"hugepages=64\" ]; one of each name counts.")) \
	F(S, modules, LIST(phx_site_value), \
	  KEY(modules, OTHER, "", "Modules of the kernel to load: those of all sets.")) \
	F(S, modules_blocked, LIST(phx_site_value), \
	  KEY(modules_blocked, OTHER, "", "Modules that are never loaded: those of all sets.")) \
	F(S, dns, LIST(phx_site_value), \
	  KEY(dns, OTHER, "", \
	      "Addresses of name servers, at most three. Of this and the following lists the " \
	      "last set " \
	      "that has one has all of it.")) \
	F(S, search, LIST(phx_site_value), \
	  KEY(search, OTHER, "", "Domains in which names are looked up.")) \
	F(S, ntp, LIST(phx_site_value), \
	  KEY(ntp, OTHER, "", "Time servers, in place of those of site.conf.")) \
	F(S, syslog, LIST(phx_site_value), \
	  KEY(syslog, OTHER, "", \
	      "Hosts that rsyslog sends everything to: [ \"loghost\", \"loghost:6514\" ] over " \
	      "TCP, \"udp:loghost\" over UDP.")) \
	F(S, protected_disks, LIST(phx_site_value), \
	  KEY(protected_disks, OTHER, "", \
	      "Selectors of disks that are neither written nor erased (DISKS of " \
	      "phoenix.conf(5)): those of all sets, besides what phoenix.conf protects.")) \
	F(S, mounts, LIST(phx_site_mount), \
	  KEY(mounts, OTHER, "", \
	      "File systems that are mounted; of one `where` the last counts.")) \
	F(S, nics, LIST(phx_site_nic), \
	  KEY(nics, OTHER, "", "Network cards, bonds, VLANs and bridges.")) \
	F(S, place, STR(PHX_SITE_PLACE_MAX))
PHX_RECORD_STRUCT(phx_site_set, PHX_SITE_SET_FIELDS);

/** Of a kind of values: its key and how it is written. */
const char *phx_site_value_key(enum phx_site_value_kind kind);
enum phx_site_form phx_site_value_form(enum phx_site_value_kind kind);
/** The values of that kind which a set has; borrowed. */
const struct phx_list *phx_site_values(const struct phx_site_set *s, enum phx_site_value_kind kind);
/** The same, to add to them. */
struct phx_list *phx_site_values_in(struct phx_site_set *s, enum phx_site_value_kind kind);

/** Takes `text`, as a word of a file has it, into a value of that form. -EINVAL with a text: it has
 * no "NAME=" and needs one; -ENAMETOOLONG. */
int phx_site_value_parse(enum phx_site_form form, const char *text, struct phx_site_value *ret,
			 struct phx_err *err);

/** "FILE:LINE" of line `line` of the file in which the set is. */
void phx_site_place(const struct phx_site_set *s, uint32_t line, char ret[PHX_SITE_PLACE_MAX]);

#endif
