/* The order of versions, of packages and of images. Pure. */
#ifndef PHX_BASE_VERSION_H
#define PHX_BASE_VERSION_H

/** Compare as Debian does: negative, 0, positive. Runs of digits compare as numbers. */
int phx_version_compare(const char *a, const char *b);

/** By how many minor versions `a` ("1.4.2") is ahead of `b`; negative: behind. Of another major
 * one, or where one is no version, PHX_VERSION_FAR or -PHX_VERSION_FAR. */
int phx_version_ahead(const char *a, const char *b);
enum { PHX_VERSION_FAR = 1000000 };

#endif
