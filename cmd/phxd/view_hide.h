/* Cutting out of sentences what the person who asks may not know: see view_hide.c. Pure. */
#ifndef PHXD_VIEW_HIDE_H
#define PHXD_VIEW_HIDE_H

#include <stdbool.h>
#include <stddef.h>

enum { VIEW_HIDE_HARDWARE = 1, VIEW_HIDE_SAID = 2, VIEW_HIDE_SOFTWARE = 4, VIEW_HIDE_ALL = 7 };

/** Cuts out of a sentence ids of disks and addresses (HARDWARE: "serial-ST4-ZC1" becomes
 * "serial-...") with selectors of protected disks, what services and health checks wrote (SAID:
 * what comes behind "with status 1"), and versions of images with packages (SOFTWARE: "debian@12
 * web-1.0" becomes "debian..."). `json`: the text is of JSON, and what is cut ends with its
 * string. In place; returns the new length. */
size_t view_hide(char *text, unsigned what, bool json);
/** Are these `n` bytes an IP address? */
bool view_is_address(const char *text, size_t n);

#endif
