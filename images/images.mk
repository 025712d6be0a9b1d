# Images: $(BUILD)/images/NAME/, each by its own recipe (images/NAME/build).
# A recipe knows by a digest what it was built from and does nothing when that
# is unchanged; with another agent the deploy images are only packed again.

IMAGES := deploy deploy-cloud debian-12

.PHONY: images $(IMAGES:%=image-%)
images: $(IMAGES:%=image-%)

image-deploy image-deploy-cloud: agent-bundle
	$(Q)images/$(@:image-%=%)/build $(BUILD)/images/$(@:image-%=%) $(BUILD)/agent-bundle

image-debian-12:
	$(Q)images/debian-12/build $(BUILD)/images/debian-12
