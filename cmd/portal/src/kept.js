// What is typed into a form outlives the page's sign-out and a reload, in this tab, for who typed it.
import { session } from './session.js';

const place = (form) => `${form} of ${session.value.who?.identity ?? ''}`;

// What was typed, by name; {}: nothing
export function kept(form) {
	try {
		return JSON.parse(sessionStorage.getItem(place(form))) ?? {};
	} catch {
		return {};
	}
}

export const keep = (form, element) => sessionStorage.setItem(place(form), JSON.stringify(Object.fromEntries(new FormData(element))));
export const forget = (form) => sessionStorage.removeItem(place(form));
