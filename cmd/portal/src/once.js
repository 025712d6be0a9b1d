// What is sent once, however often its button is pressed before the head has answered.
import { useRef, useState } from 'preact/hooks';

// [is it under way?, how something is sent: a function that gives a promise]
export function useOnce() {
	const sent = useRef(false);
	const [busy, setBusy] = useState(false);
	const once = (send) => {
		if (sent.current)
			return;
		sent.current = true;
		setBusy(true);
		send().finally(() => {
			sent.current = false;
			setBusy(false);
		});
	};
	return [busy, once];
}

// Of a double click the first counts: what is done and answered at once would be done again.
export const first = (act) => (e) => e.detail < 2 && act(e);
