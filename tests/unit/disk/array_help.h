/* Signatures of arrays, as mdadm and pvcreate write them, for tests that have neither. */
#ifndef PHX_TESTS_DISK_ARRAY_H
#define PHX_TESTS_DISK_ARRAY_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

enum { ARRAY_RAID_AT = 4096, ARRAY_LVM_AT = 512, ARRAY_BLOCK = 512 };

/* The super block of a RAID, version 1.2, at ARRAY_RAID_AT. */
static inline void array_raid(uint8_t ret[ARRAY_BLOCK], uint8_t set)
{
	const uint32_t head[] = {htole32(0xa92b4efc), htole32(1)}, disks = htole32(2);
	const uint64_t here = htole64(ARRAY_RAID_AT / 512);
	memset(ret, 0, ARRAY_BLOCK);
	memcpy(ret, head, sizeof(head));
	memset(ret + 16, set, 16);
	memcpy(ret + 92, &disks, sizeof(disks));
	memcpy(ret + 144, &here, sizeof(here));
	uint64_t sum = 0;
	for (int i = 0; i < 256; i += 4) {
		uint32_t word;
		memcpy(&word, ret + i, sizeof(word));
		sum += le32toh(word);
	}
	const uint32_t checksum = htole32((uint32_t)(sum & 0xffffffff) + (uint32_t)(sum >> 32));
	memcpy(ret + 216, &checksum, sizeof(checksum));
}

/* The label of a physical volume, at ARRAY_LVM_AT; its id is of 32 such letters. */
static inline void array_lvm(uint8_t ret[ARRAY_BLOCK], char letter)
{
	const uint64_t sector = htole64(1), size = htole64(1 << 20);
	const uint32_t offset = htole32(32);
	uint32_t crc = 0xf597a6cf;
	memset(ret, 0, ARRAY_BLOCK);
	memcpy(ret, "LABELONE", 8);
	memcpy(ret + 8, &sector, sizeof(sector));
	memcpy(ret + 20, &offset, sizeof(offset));
	memcpy(ret + 24, "LVM2 001", 8);
	memset(ret + 32, letter, 32);
	memcpy(ret + 64, &size, sizeof(size));
	for (int i = 20; i < ARRAY_BLOCK; i++) {
		crc ^= ret[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	crc = htole32(crc);
	memcpy(ret + 16, &crc, sizeof(crc));
}

#endif
