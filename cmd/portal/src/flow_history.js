// What was drawn before, and what was taken back: undo and redo.
import { useState } from 'preact/hooks';

const KEPT = 200;

export function useHistory(first) {
	const [h, setH] = useState(() => ({ past: [], doc: first(), future: [] }));
	// An act that changes nothing is none.
	const change = (act) => setH((was) => {
		const doc = act(was.doc);
		return doc === was.doc ? was : { past: [...was.past, was.doc].slice(-KEPT), doc, future: [] };
	});
	const undo = () => setH((was) => (was.past.length ? { past: was.past.slice(0, -1), doc: was.past.at(-1), future: [was.doc, ...was.future] } : was));
	const redo = () => setH((was) => (was.future.length ? { past: [...was.past, was.doc], doc: was.future[0], future: was.future.slice(1) } : was));
	return { doc: h.doc, change, undo, redo, canUndo: h.past.length > 0, canRedo: h.future.length > 0 };
}
