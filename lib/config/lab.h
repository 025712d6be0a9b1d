/* What lab.conf may say: the emulated cluster of `phx lab`, which cmd/phx-lab reads and makes. */
#ifndef PHX_CONFIG_LAB_H
#define PHX_CONFIG_LAB_H

#include "base/key.h"

enum { LAB_NAME_MAX = 24 };

enum lab_firmware { LAB_BIOS, LAB_UEFI };
enum lab_nic { LAB_NIC_VIRTIO, LAB_NIC_E1000 };
enum lab_bus { LAB_DISK_VIRTIO, LAB_DISK_AHCI, LAB_DISK_NVME, LAB_DISK_IDE, LAB_DISK_SCSI };
extern const struct phx_enum lab_firmware_names, lab_nic_names, lab_bus_names;

#define LAB_DISK_FIELDS(F, S) \
	F(S, bus, ENUM(lab_bus), KEY(bus, CHOICE, PHX_REQUIRED, "What it hangs on.")) \
	F(S, size_bytes, U64, \
	  KEY(size, SIZE, PHX_REQUIRED, \
	      "How large it is: 16 MiB at least, in steps of 4096 bytes.")) \
	F(S, serial, STR(21), \
	  KEY(serial, LINE, "", \
	      "Its serial number, without blanks, commas and '='; empty: made of the machine's " \
	      "name.")) \
	/* ahci, ide and scsi only */ \
	F(S, wwn, STR(19), \
	  KEY(wwn, LINE, "", \
	      "0x and 16 small hexadecimal digits; empty: none. Of ahci, ide and scsi only."))
PHX_RECORD_STRUCT(lab_disk, LAB_DISK_FIELDS);

/* ---- networks beside the lab's own, and cards in them ---- */

#define LAB_NETWORK_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), KEY(name, NAME, PHX_REQUIRED, "Its name.")) \
	F(S, subnet, STR(20), \
	  KEY(subnet, LINE, PHX_REQUIRED, "Its addresses: an IPv4 network of 24 bits.")) \
	F(S, relay, BOOL, \
	  KEY(relay, YES, "false", \
	      "Its machines boot through a router with a DHCP relay, in a namespace of its own; " \
	      "the router has the address .1 there, and .254 in the lab's own network (that of " \
	      "the second network .253). Otherwise the head has .1 there, on a card of its own.")) \
	F(S, boot, BOOL, \
	  KEY(boot, YES, "false", "Whether machines boot over it, without a relay, too."))
PHX_RECORD_STRUCT(lab_network, LAB_NETWORK_FIELDS);

#define LAB_CARD_FIELDS(F, S) \
	F(S, network, STR(PHX_NAME_MAX), \
	  KEY(network, LINE, "", \
	      "The network of its frames without a tag; empty: the lab's own.")) \
	F(S, mac, STR(PHX_MAC_MAX), \
	  KEY(mac, LINE, "", "Empty: made of the lab's name and its place in the lists."))
PHX_RECORD_STRUCT(lab_card, LAB_CARD_FIELDS);

#define LAB_MACHINE_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), KEY(name, NAME, PHX_REQUIRED, "The machine's name.")) \
	F(S, index, U32) /* decides addresses, MAC and tap */ \
	F(S, firmware, ENUM(lab_firmware), \
	  KEY(firmware, CHOICE, "bios", "The firmware that it starts by.")) \
	F(S, nic, ENUM(lab_nic), KEY(nic, CHOICE, "virtio", "Its network card.")) \
	F(S, memory_bytes, U64, \
	  KEY(memory, SIZE, "384 MiB", "Its memory in whole MiB, 128 at least.")) \
	F(S, cpus, U32, KEY(cpus, NUMBER(1, 16), "1", "How many processors it has.")) \
	F(S, bmc, BOOL, KEY(bmc, YES, "true", "Whether it has a BMC, which speaks IPMI.")) \
	F(S, tpm, BOOL, KEY(tpm, YES, "false", "Whether it has a TPM 2.0, which swtpm is.")) \
	F(S, share, STR(200), \
	  KEY(share, LINE, "", \
	      "A directory of this host, absolute, that the machine may mount by 9p: mount -t 9p " \
	      "-o trans=virtio share DIR; empty: none. Stands for the file server of a site.")) \
	F(S, mac, STR(PHX_MAC_MAX), \
	  KEY(mac, LINE, "", \
	      "Of its network card; empty: made of the lab's name and its place in the list.")) \
	F(S, network, STR(PHX_NAME_MAX), \
	  KEY(network, LINE, "", \
	      "The network of that card, over which it boots; empty: the lab's own.")) \
	F(S, nics, LIST(lab_card), \
	  KEY(nics, OTHER, "", "Groups of further cards, see NETWORKS; 7 at most.")) \
	F(S, serial, STR(PHX_NAME_MAX), \
	  KEY(serial, NAME, "", "Of the machine; empty: made of both names.")) \
	F(S, uuid, STR(37)) \
	F(S, ip, STR(16)) \
	F(S, bmc_ip, STR(16)) /* "" = no BMC */ \
	F(S, disks, LIST(lab_disk), KEY(disks, OTHER, "", "Groups, see DISKS; 8 at most."))
PHX_RECORD_STRUCT(lab_machine, LAB_MACHINE_FIELDS);

#define LAB_FIELDS(F, S) \
	F(S, name, STR(LAB_NAME_MAX), \
	  KEY(name, NAME, "phoenix", "The lab's name; phx lab up --name replaces it.")) \
	F(S, subnet, STR(20), \
	  KEY(subnet, LINE, "10.77.0.0/24", \
	      "The network of its machines: an IPv4 network of 24 bits.")) \
	F(S, deploy_image, STR(PHX_NAME_MAX), \
	  KEY(deploy_image, NAME, "deploy", "The image that machines boot.")) \
	F(S, head_conf, STR(200), \
	  KEY(head_conf, LINE, "", "A file whose text becomes conf.d/lab.conf; empty: none.")) \
	F(S, networks, LIST(lab_network), \
	  KEY(networks, OTHER, "", "Groups, see NETWORKS; 16 at most.")) \
	F(S, source, STR(200))             /* where roles/ and pxe/ are */ \
	F(S, images, STR(200))             /* where built images are, NAME each */ \
	F(S, dir, STR(200))                /* LABS/NAME */ \
	F(S, netns, STR(LAB_NAME_MAX + 8)) /* its namespace; "" = phx-NAME */ \
	F(S, machines, LIST(lab_machine), \
	  KEY(machines, OTHER, PHX_REQUIRED, "Groups, see MACHINES; 48 at most."))
PHX_RECORD_STRUCT(lab, LAB_FIELDS);

#endif
