/* The tables of lab.conf: see lab.h. */
#include "config/lab.h"

static const char *const firmware[] = {"bios", "uefi"};
static const char *const nic[] = {"virtio", "e1000"};
static const char *const bus[] = {"virtio", "ahci", "nvme", "ide", "scsi"};
const struct phx_enum lab_firmware_names = {"firmware", firmware, PHX_ARRAY_SIZE(firmware)};
const struct phx_enum lab_nic_names = {"network card", nic, PHX_ARRAY_SIZE(nic)};
const struct phx_enum lab_bus_names = {"disk bus", bus, PHX_ARRAY_SIZE(bus)};

PHX_RECORD_TABLE(lab_disk, LAB_DISK_FIELDS);
PHX_RECORD_TABLE(lab_network, LAB_NETWORK_FIELDS);
PHX_RECORD_TABLE(lab_card, LAB_CARD_FIELDS);

PHX_RECORD_TABLE(lab_machine, LAB_MACHINE_FIELDS);
PHX_RECORD_TABLE(lab, LAB_FIELDS);
