// What is being drawn is kept in the browser for as long as its tab is there, so that reload loses nothing; for who drew it alone.
import { emptyDoc, fromFlow } from './flow_doc.js';
import { session } from './session.js';

const name = () => `phoenix-workflow:${session.value.who?.identity}`;

export function readDraft() {
	try {
		return JSON.parse(sessionStorage.getItem(name())) ?? emptyDoc;
	} catch {
		return emptyDoc;
	}
}

// False: it is too large to be kept.
export function keepDraft(doc) {
	try {
		sessionStorage.setItem(name(), JSON.stringify(doc));
		return true;
	} catch {
		sessionStorage.removeItem(name());
		return false;
	}
}

// Of a run, to draw on.
export const keepCopy = (flow) => keepDraft(fromFlow(flow));
