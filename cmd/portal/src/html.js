// How pages are written: templates become elements, never text that is parsed as HTML.
import htm from 'htm';
import { h } from 'preact';

export const html = htm.bind(h);
