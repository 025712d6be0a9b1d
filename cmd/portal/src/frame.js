// Paints in the next frame, however often it is asked; how long that took is kept, as the measure `name`, for who measures it.
import { useState } from 'preact/hooks';

// view: what is painted, with its canvas as `current.canvas`; isReady(current): can it be painted yet?
export function useFrame(view, name, paint, isReady = () => true) {
	const [again] = useState(() => {
		let asked = false;
		return () => {
			if (asked)
				return;
			asked = true;
			requestAnimationFrame(() => {
				asked = false;
				if (!view.current.canvas?.isConnected || !isReady(view.current))
					return;
				const begun = performance.now();
				paint(view.current);
				performance.measure(name, { start: begun, end: performance.now() });
			});
		};
	});
	return again;
}
